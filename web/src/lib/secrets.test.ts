import { expect, it } from "vitest";
import { withoutSecrets } from "./secrets";

const x = (n: number) => "a1B2c3D4".repeat(Math.ceil(n / 8)).slice(0, n);

it.each([
  [`key sk-ant-api03-${x(80)} end`, "key [secret] end"],
  [`ghp_${x(36)}`, "[secret]"],
  [`AKIA${"A1B2C3D4E5F6G7H8"}`, "[secret]"],
  [`Authorization: Bearer ${x(24)}`, "Authorization: Bearer [secret]"],
  [`DB_PASSWORD=${x(20)}`, "DB_PASSWORD=[secret]"],
  [`"api_key": "${x(20)}"`, `"api_key": "[secret]"`],
  [`eyJ${x(20)}.${x(30)}.${x(20)}`, "[secret]"],
  [`-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest`, "[secret]\nrest"],
])("%s", (text, want) => expect(withoutSecrets(text)).toBe(want));

it("leaves other words alone", () => {
  const text = "279 tokens, token := issue(clock.Now()), the password is wrong, sk-1, commit 3f2a9c1d4b5e6f708192a3b4c5d6e7f801234567";
  expect(withoutSecrets(text)).toBe(text);
});
