import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "./Button";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  foot?: ReactNode;
  /** Says what the dialog is for, to screen readers. */
  description?: string;
}

export function Dialog({ title, onClose, children, foot, description }: Props) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="veil" />
        <Radix.Content className="dialog" {...(description ? {} : { "aria-describedby": undefined })}>
          <div className="dialog-head">
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close asChild>
              <Button look="quiet" label="Close">
                <X size={16} />
              </Button>
            </Radix.Close>
          </div>
          {description && <Radix.Description className="visually-hidden">{description}</Radix.Description>}
          <div className="dialog-body">{children}</div>
          {foot && <div className="dialog-foot">{foot}</div>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
