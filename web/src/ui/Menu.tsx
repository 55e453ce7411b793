import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";

export interface MenuEntry {
  label: string;
  icon?: ReactNode;
  keys?: string;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
}

/** A menu behind a button. `null` draws a line, `false` nothing. */
export function Menu({ trigger, entries }: { trigger: ReactNode; entries: (MenuEntry | null | false)[] }) {
  return (
    <DropdownMenu.Root modal={false}>
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
