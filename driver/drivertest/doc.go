// Package drivertest is the suite that every driver passes: scenarios that are
// played on the real agent, with a scripted model behind it, through a real engine
// and a real store. What is shown is what users get.
//
//	func TestMain(m *testing.M) { drivertest.Main(targets...); ... }
//	func TestClaude(t *testing.T) { drivertest.Run(t, target) }
//
// A scenario asserts events of the log, decisions, files on disk and what the model
// was sent. After each of them, whether it passed or not, the log must be in order
// (numbers without a gap, one end for each turn, one decision for each request), no
// process may be left, and the key may not have been seen.
//
// A scenario may name a capability. If the agent declares it, the scenario must
// pass. If it does not, the scenario is tried all the same, and must fail: what an
// agent declares is true both ways. What cannot be tried is said to be missing, with
// the reason. [Write] makes a table of all that.
package drivertest
