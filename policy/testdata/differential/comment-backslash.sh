git status #\
touch pwned