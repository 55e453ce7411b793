package checkpoint

import "errors"

func fullRestore([]string) error { return errors.ErrUnsupported }

func unreadable([]string) error { return errors.ErrUnsupported }
