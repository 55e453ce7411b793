package workfiles

const openFlags = 0
