package team_test

import "github.com/terret-dev/terret/driver/mock"

// talker answers as a function says.
type talker = mock.Talker
