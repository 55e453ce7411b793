package project

// plainFlags are none: the check after the open does all.
const plainFlags = 0
