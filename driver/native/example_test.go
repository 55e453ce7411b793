package native_test

import (
	"fmt"

	"github.com/terret-dev/terret/driver/native"
)

// Without a key there is a model all the same, to try things out with.
func ExampleDriver_DefaultModel() {
	without := native.New(native.Config{Getenv: func(string) string { return "" }})
	fmt.Println(without.Name(), "uses", without.DefaultModel())
	// Output: native uses demo
}
