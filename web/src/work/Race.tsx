import { useQueryClient } from "@tanstack/react-query";
import { lazy, useState, useSyncExternalStore } from "react";
import { keys } from "../api/keys";
import { useNames } from "../api/names";
import { useSession } from "../api/queries";
import type { Race, Racer, Session } from "../api/types";
import { ShownContext } from "../conversation/context";
import { Markdown } from "../conversation/Markdown";
import { ConversationView } from "../conversation/ConversationView";
import { baseName, dollars, duration } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { attempt, say } from "../lib/toast";
import { conversations } from "../stream/live";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Lazy } from "../ui/Lazy";
import { Link } from "../ui/Link";
import { dropRace, keepRacer, resumeRace, useRace } from "./api";
import { Pending, State, Title } from "./parts";
import { best } from "./best";

const Diff = lazy(() => import("../conversation/Diff"));

/** One race: side by side while it runs, then a table to choose from. */
export function RacePage({ id }: { id: string }) {
  const client = useQueryClient();
  const { data: race, error, isPending } = useRace(id);
  const [keeping, setKeeping] = useState("");
  const [dropping, setDropping] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: keys.work });
  if (!race) return <Pending error={error} isPending={isPending} />;
  const act = async (failed: string, done: string, what: () => Promise<unknown>) => {
    const ok = await attempt(failed, async () => { await what(); return true; });
    setKeeping("");
    setDropping(false);
    if (ok && done) say(done);
    await refresh();
  };
  const open = race.state === "finished" || race.state === "interrupted" || race.state === "failed";
  return (
    <>
      <Title page="races" list="Races" name={race.task}>
        <State state={race.state} />
        {open && <Button look="danger" onClick={() => setDropping(true)}>Drop all</Button>}
      </Title>
      <div className="row wrap small dim"><span>{safeName(baseName(race.cwd))}</span>{race.check && <span>Check: <code>{safeName(race.check)}</code></span>}{race.kept && <span>Kept {safeName(race.kept)}</span>}</div>
      {race.state === "interrupted" && (
        <div className="notice boxed" role="status">
          <strong>Nobody works on this race</strong>
          <span>It was interrupted. Agents that are done stay as they are; the others continue.</span>
          <span><Button tiny look="primary" onClick={() => act("The race did not continue", "", () => resumeRace(id))}>Resume</Button></span>
        </div>
      )}
      <Results race={race} onKeep={open ? setKeeping : undefined} />
      {race.state === "running" ? (
        <div className="racers">{race.racers.map((r) => <Live key={r.name} racer={r} />)}</div>
      ) : <Diffs race={race} />}
      {keeping && <KeepDialog race={race} racer={keeping} onClose={() => setKeeping("")} onKeep={(how) => act("It was not kept", `Kept ${keeping}`, () => keepRacer(id, keeping, how))} />}
      {dropping && (
        <Dialog title="Drop everything?" description="Removes the worktrees of all agents" onClose={() => setDropping(false)} foot={
          <><Button look="quiet" autoFocus onClick={() => setDropping(false)}>Cancel</Button><Button look="danger" onClick={() => act("The race was not dropped", "Dropped", () => dropRace(id))}>Drop all</Button></>
        }>
          <p>What the agents changed is thrown away. The sessions stay, and the folder stays as it is.</p>
        </Dialog>
      )}
    </>
  );
}

function Results({ race, onKeep }: { race: Race; onKeep: ((racer: string) => void) | undefined }) {
  const first = race.state === "running" ? "" : best(race);
  return (
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Results">
      <table className="table">
        <thead><tr><th scope="col">Agent</th><th scope="col">State</th><th scope="col">Check</th><th scope="col" className="number">Files</th><th scope="col" className="number">Lines</th><th scope="col" className="number">Cost</th><th scope="col" className="number">Time</th><th scope="col"><span className="visually-hidden">Actions</span></th></tr></thead>
        <tbody>
          {race.racers.map((r) => (
            <tr key={r.name} className={race.kept === r.name ? "kept" : ""}>
              <th scope="row"><SessionName racer={r} /> {r.name === first && <span className="tag good" title="Fastest of those that changed something and passed the check">suggested</span>}</th>
              <td><State state={r.state} name={r.state === "finished" ? "Done" : r.state === "running" && race.state !== "running" ? "Interrupted" : ""} /></td>
              <td>{r.check ? <span className={`tag ${r.check === "passed" ? "good" : "bad"}`} title={r.check_output ? safeText(r.check_output) : undefined}>{r.check}</span> : <span className="faint">–</span>}</td>
              <td className="number">{r.state === "running" ? "" : r.files}</td>
              <td className="number">{r.state !== "running" && <span className="counts"><span className="added">+{r.insertions}</span> <span className="removed">−{r.deletions}</span></span>}</td>
              <td className="number">{r.cost_usd > 0 ? dollars(r.cost_usd) : "–"}</td>
              <td className="number">{r.duration_ms > 0 ? duration(r.duration_ms) : ""}</td>
              <td className="number">{onKeep && r.dir && r.files > 0 ? <Button tiny {...(r.name === first ? { look: "primary" } : {})} onClick={() => onKeep(r.name)}>Keep</Button> : race.kept === r.name ? "Kept" : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SessionName({ racer: r }: { racer: Racer }) {
  const there = useSession(r.session);
  return there ? <Link to={sessionPath(there.id)}>{safeName(r.name)}</Link> : <>{safeName(r.name)}</>;
}

/** What an agent does, as it does it. */
function Live({ racer }: { racer: Racer }) {
  const { agentName } = useNames();
  const session = useSession(racer.session);
  return (
    <section className="racer" aria-label={racer.name}>
      <h2 className="row"><span className="grow cut">{safeName(racer.name)}</span><State state={racer.state} name={racer.state === "finished" ? "Done" : ""} /></h2>
      {session ? <LiveConversation session={session} label={`Conversation of ${racer.name}`} /> : <p className="small dim racer-wait">{agentName(racer.agent)} is about to start.</p>}
    </section>
  );
}

function LiveConversation({ session, label }: { session: Session; label: string }) {
  const store = conversations.get(session.id);
  const snap = useSyncExternalStore(store.subscribe, store.snapshot);
  if (!snap.loaded) return <p className="small dim racer-wait">{snap.error ? safeText(snap.error.message) : "Loading"}</p>;
  return <ShownContext value={{ session, conversation: snap.conversation }}><ConversationView label={label} /></ShownContext>;
}

function Diffs({ race }: { race: Race }) {
  const withDiff = race.racers.filter((r) => r.diff);
  const [chosen, setChosen] = useState("");
  const shown = withDiff.find((r) => r.name === chosen) ?? withDiff.find((r) => r.name === best(race)) ?? withDiff[0];
  const failed = race.racers.filter((r) => r.error);
  return (
    <>
      {failed.map((r) => <p key={r.name} className="tool-error pre">{safeName(r.name)}: {safeText(r.error!)}</p>)}
      {shown && (
        <section aria-label="What changed" className="column">
          <div className="segmented" role="group" aria-label="Whose changes">
            {withDiff.map((r) => <Button key={r.name} look="quiet" aria-pressed={r === shown} onClick={() => setChosen(r.name)}>{safeName(r.name)}</Button>)}
          </div>
          {shown.answer && <Markdown text={shown.answer} />}
          {shown.check === "failed" && shown.check_output && <pre className="step-text" tabIndex={0} role="group" aria-label="What the check said">{safeText(shown.check_output)}</pre>}
          <Lazy lines={6}><Diff key={shown.name} text={shown.diff!} cwd={shown.dir ?? race.cwd} /></Lazy>
        </section>
      )}
    </>
  );
}

function KeepDialog({ race, racer, onClose, onKeep }: { race: Race; racer: string; onClose: () => void; onKeep: (how: "merge" | "patch") => void }) {
  const folder = safeName(baseName(race.cwd));
  return (
    <Dialog title={`Keep ${safeName(racer)}?`} description="Keeps what one agent did and drops the rest" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <Button onClick={() => onKeep("patch")}>Apply without a commit</Button>
        <Button look="primary" autoFocus onClick={() => onKeep("merge")}>Merge</Button>
      </>
    }>
      <p>Its changes go into {folder}: merged with a commit, or applied for you to commit. What the other agents did is dropped. If the changes do not fit, nothing happens.</p>
    </Dialog>
  );
}
