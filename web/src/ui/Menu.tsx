import { DropdownMenu } from "radix-ui";
import { cloneElement, type ReactElement, type ReactNode, useState } from "react";

export interface MenuEntry {
  label: string;
  icon?: ReactNode;
  keys?: string;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
}

interface Props { trigger: ReactElement<object>; entries: (MenuEntry | null | false)[] }

/** A menu that costs no more than its button until somebody opens it: for lists of hundreds. */
export function LateMenu({ trigger, entries }: Props) {
  const [used, setUsed] = useState(false);
  if (used) return <Menu trigger={trigger} entries={entries} opened />;
  const use = () => setUsed(true);
  return cloneElement(trigger as ReactElement<Record<string, unknown>>, {
    "aria-haspopup": "menu", "aria-expanded": false, onClick: use,
    onKeyDown: (e: { key: string; preventDefault(): void }) => {
      if (e.key !== "ArrowDown") return;
      e.preventDefault();
      use();
    },
  });
}

/** A menu behind a button. `null` draws a line, `false` nothing. */
export function Menu({ trigger, entries, opened = false }: Props & { opened?: boolean }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen={opened}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {entries.map((entry, i) =>
            entry === false ? null : entry ? (
              <DropdownMenu.Item
                key={entry.label}
                className={`menu-item${entry.danger ? " danger" : ""}`}
                disabled={entry.disabled ?? false}
                onSelect={entry.onSelect}
              >
                {entry.icon}
                <span className="grow">{entry.label}</span>
                {entry.keys && <kbd className="faint small">{entry.keys}</kbd>}
              </DropdownMenu.Item>
            ) : (
              <DropdownMenu.Separator key={`line${i}`} className="menu-line" />
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
