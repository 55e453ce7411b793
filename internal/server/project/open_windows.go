package project

// plainFlags are empty: the check after opening does everything.
const plainFlags = 0
