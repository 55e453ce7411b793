// The pages about several agents: the team, workflows, reviews and races. Loaded when
// the first of them is opened.

import type { ReactNode } from "react";
import { type WorkPage, workPath } from "../lib/router";
import { Link } from "../ui/Link";
import { RacePage } from "./Race";
import { Races } from "./Races";
import { ReviewPage } from "./Review";
import { Reviews } from "./Reviews";
import { TeamPage } from "./Team";
import { WorkflowPage } from "./Workflow";
import { Workflows } from "./Workflows";
import "./work.css";

const tabs: { page: WorkPage; name: string }[] = [
  { page: "team", name: "Members" },
  { page: "workflows", name: "Workflows" },
  { page: "reviews", name: "Reviews" },
  { page: "races", name: "Races" },
];

export default function Work({ page, id }: { page: WorkPage; id: string }) {
  return (
    <div className="page-inner work">
      <nav className="work-tabs" aria-label="Team">
        {tabs.map((t) => <Link key={t.page} to={workPath(t.page)} aria-current={t.page === page ? "page" : undefined}>{t.name}</Link>)}
      </nav>
      {shown(page, id)}
    </div>
  );
}

function shown(page: WorkPage, id: string): ReactNode {
  switch (page) {
    case "team": return <TeamPage />;
    case "workflows": return id ? <WorkflowPage key={id} id={id} /> : <Workflows />;
    case "reviews": return id ? <ReviewPage key={id} id={id} /> : <Reviews />;
    case "races": return id ? <RacePage key={id} id={id} /> : <Races />;
  }
}
