package pushtest_test

import (
	"crypto/ecdh"
	"encoding/base64"
	"testing"

	"github.com/terret-dev/terret/internal/test/pushtest"
)

// TestDecrypt reads the example of RFC 8291, section 5.
func TestDecrypt(t *testing.T) {
	t.Parallel()
	decode := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key, err := ecdh.P256().NewPrivateKey(decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	body := decode("DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	got, err := pushtest.Decrypt(key, decode("BTBZMqHH6r4Tts7J_aSIgg"), body)
	if err != nil || string(got) != "When I grow up, I want to be a watermelon" {
		t.Errorf("%q, %v", got, err)
	}
	body[len(body)-1]++
	if got, err := pushtest.Decrypt(key, decode("BTBZMqHH6r4Tts7J_aSIgg"), body); err == nil {
		t.Errorf("a message that was changed is read as %q", got)
	}
}
