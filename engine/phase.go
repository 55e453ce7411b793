package engine

// phase is the phase of a session that this process owns. The package comment has the
// table; only [live.to] changes it.
type phase uint8

const (
	idle     phase = iota // no turn
	starting              // turn.start is written; the agent is being opened and prompted
	running               // the agent has the turn
	stopping              // the turn must end; the agent was told, or is being killed
	settling              // the agent is done; the rest of the turn is being written
	quiet                 // nothing may happen: somebody changes the folder, or moves the session
	leaving               // the agent is being closed and the session given back
	broken                // nothing more can be written
	gone                  // no longer ours
)

// edges lists which phases may follow each phase.
var edges = map[phase][]phase{
	idle:     {starting, running, quiet, leaving, broken},
	starting: {running, stopping, settling, broken},
	running:  {stopping, settling, broken},
	stopping: {settling, broken},
	settling: {idle, broken},
	quiet:    {idle, broken},
	leaving:  {gone, broken},
	broken:   {gone},
	gone:     {},
}

func (p phase) String() string {
	return [...]string{"idle", "starting", "running", "stopping", "settling", "quiet", "leaving", "broken", "gone"}[p]
}

// inTurn reports whether a turn is in progress.
func (p phase) inTurn() bool { return p == starting || p == running || p == stopping || p == settling }
