package checkpoint

// openFlags are the flags that open what is at a path and nothing else; on
// Windows the check after the open does that alone.
const openFlags = 0
