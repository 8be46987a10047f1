// What imports.mjs holds the other imports against.
