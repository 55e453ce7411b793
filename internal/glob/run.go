package glob

// way is how a run came to a node: what it means depends on that.
type way uint8

const (
	inside    way = iota // in a part of the path
	beginning            // at the beginning of a part
	// After one or two stars, which began in a part or at its beginning. What they mean
	// shows by what follows.
	starInside
	starBeginning
	starsInside
	starsBeginning
	within // in the text that a star matches
	below  // in the parts that two stars match
	ways
)

type place struct {
	node int
	way  way
}

// run is one reading of a name: all places of the pattern that the text so far leads to.
type run struct {
	glob   *Glob
	places []place // where it is after the last character
	live   []place // where the next character is read
	stack  []place
	all    bool     // the pattern matches whatever follows
	seen   []uint32 // the last round that came to a place
	round  uint32
}

func (r *run) start() {
	if r.round > 1<<31 { // before the rounds of a name could begin again at 1
		clear(r.seen)
		r.round = 0
	}
	r.all = false
	r.places = append(r.places[:0], place{0, beginning})
}

// ends reports whether the name may end here.
func (r *run) ends() bool {
	for _, p := range r.places {
		switch {
		case p.way == below:
		case p.way == within && r.glob.behind[p.node], p.way != within && r.glob.empty[p.node]:
			return true
		}
	}
	return false
}

// come notes a place to look at in this round.
func (r *run) come(node int, w way) {
	if i := node*int(ways) + int(w); r.seen[i] != r.round {
		r.seen[i] = r.round
		r.stack = append(r.stack, place{node, w})
	}
}

// spread finds the places that read the next character.
func (r *run) spread() {
	r.round++
	r.live, r.stack = r.live[:0], r.stack[:0]
	for _, p := range r.places {
		r.come(p.node, p.way)
	}
	for len(r.stack) > 0 {
		p := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		n := &r.glob.nodes[p.node]
		switch {
		case p.way == below:
			r.live = append(r.live, p)
		case p.way == within:
			r.live = append(r.live, p)
			r.come(p.node, inside)
		case n.kind == fork && p.way <= beginning: // stars do not look into braces
			for _, to := range n.alternatives {
				r.come(to, p.way)
			}
		case n.kind == jump:
			r.come(n.next, p.way)
		case n.kind == star && p.way <= starBeginning: // one more
			r.come(n.next, p.way+2)
		case p.way == starsBeginning && n.kind == end:
			r.all = true
		case p.way == starsBeginning && n.slash():
			r.come(n.next, beginning)
			r.come(n.next, below)
		case p.way >= starInside: // a star, or two that mean one
			r.come(p.node, within)
		default:
			r.live = append(r.live, p)
		}
	}
}

// step reads one character.
func (r *run) step(c rune) {
	r.places = r.places[:0]
	for _, p := range r.live {
		n := &r.glob.nodes[p.node]
		switch {
		case p.way == below:
			r.places = append(r.places, p)
			if c == '/' {
				r.places = append(r.places, place{p.node, beginning})
			}
		case p.way == within:
			if c != '/' {
				r.places = append(r.places, p)
			}
		case n.matches(c) && n.kind == one && c == '/':
			r.places = append(r.places, place{n.next, beginning})
		case n.matches(c):
			r.places = append(r.places, place{n.next, inside})
		}
	}
}
