// Everything that must be there before agents can work, without the command line.

import { useOwner } from "../api/queries";
import { Config } from "./Config";
import { Install } from "./Install";
import { Keys } from "./Keys";
import { Providers } from "./Providers";
import { McpSignIns } from "./McpSignIns";

export default function Setup() {
  const owner = useOwner();
  return (
    <div className="page-inner settings setup">
      <div className="column">
        <h1>Set up the server</h1>
        {owner ? (
          <p className="dim">This is about the machine on which Terret runs, whatever browser you use. Whoever may do this can have that machine run programs, so it takes a token that may do everything.</p>
        ) : <p role="alert">Only a device that may do everything can set up the server. <span className="mono">terret open</span> signs one in.</p>}
      </div>
      {owner && (
        <>
          <Install />
          <Keys />
          <Providers />
          <McpSignIns />
          <Config />
        </>
      )}
    </div>
  );
}
