import { X } from "lucide-react";
import { Tabs } from "radix-ui";
import { useShown } from "../conversation/context";
import { type RightTab, useSettings } from "../lib/state";
import { showRight } from "../shell/rightPane";
import { Boundary } from "../ui/Boundary";
import { Button } from "../ui/Button";
import { ChangesPane } from "./ChangesPane";
import { Details } from "./Details";
import { Files } from "./Files";
import { PlanPane } from "./PlanPane";
import { Timeline } from "./Timeline";

const tabs: { id: RightTab; name: string; Body: () => React.ReactNode }[] = [
  { id: "changes", name: "Changes", Body: ChangesPane },
  { id: "files", name: "Files", Body: Files },
  { id: "plan", name: "Plan", Body: PlanPane },
  { id: "timeline", name: "Timeline", Body: Timeline },
  { id: "details", name: "Details", Body: Details },
];

export function RightPane() {
  const tab = useSettings((s) => s.tab);
  const { session, conversation } = useShown();
  const left = conversation.plan.filter((e) => e.status !== "completed").length;
  return (
    <Tabs.Root className="pane side" value={tab} onValueChange={(v) => useSettings.setState({ tab: v as RightTab })}>
      <div className="tabs">
        <Tabs.List className="row grow tab-list" aria-label="About this session">
          {tabs.map((t) => (
            <Tabs.Trigger key={t.id} value={t.id} className="tab">
              {t.name}
              {t.id === "plan" && left > 0 && <span className="faint"> {left}</span>}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <span className="desktop-only">
          <Button look="quiet" tiny label="Hide this pane (Alt-])" onClick={() => showRight(false)}><X size={14} /></Button>
        </span>
      </div>
      {tabs.map(({ id, name, Body }) => (
        <Tabs.Content key={id} value={id} className="tab-body" tabIndex={0}>
          <Boundary key={session.id} what={name}>{tab === id && <Body />}</Boundary>
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
