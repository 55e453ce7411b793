import { X } from "lucide-react";
import { Toast } from "radix-ui";
import { dropToast, useToasts } from "../lib/toast";
import { Button } from "./Button";

export function Toasts() {
  const list = useToasts((s) => s.list);
  return (
    <Toast.Provider label="Message" swipeDirection="right">
      {list.map((t) => (
        <Toast.Root
          key={t.id}
          className={`toast${t.error ? " error" : ""}`}
          duration={t.error || t.action ? 12_000 : 4_000}
          onOpenChange={(open) => !open && dropToast(t.id)}
        >
          <Toast.Title asChild>
            <strong>{t.title}</strong>
          </Toast.Title>
          <span className="row">
            {t.action && (
              <Toast.Action asChild altText={t.action.label}>
                <Button tiny onClick={t.action.run}>{t.action.label}</Button>
              </Toast.Action>
            )}
            <Toast.Close asChild>
              <Button look="quiet" tiny label="Dismiss">
                <X size={14} />
              </Button>
            </Toast.Close>
          </span>
          {t.detail && (
            <Toast.Description asChild>
              <p>{t.detail}</p>
            </Toast.Description>
          )}
        </Toast.Root>
      ))}
      <Toast.Viewport className="toasts" label="Messages ({hotkey})" />
    </Toast.Provider>
  );
}
