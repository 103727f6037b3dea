// CipherDataToolKit: the command-line tool without its process.
//
// The floors, from the bottom up:
//
//   Errors       errors and exit statuses
//   Terminal     the terminal: notes, passphrases, progress, interruption
//   Input        bytes, lines and JSON that come in
//   Values       stored values as text and JSON
//   Output       tables, CSV and lines that go out
//   Drawing      models as pictures
//   Debian       Debian's package lists
//   Fetch        questions to a store: their options, paths and results
//   Export       object graphs as JSON lines
//   Import       JSON lines and package lists as object graphs
//   Store        stores made
//   Follow       results as they are and as they change
//   History      what was written to a store, as a table or lines
//   Report       a store as a page for a browser
//   Doctor       the machine and a store's surroundings, examined
//   Commands     the commands, one type each
//   Shell        the commands line by line
//   Demo         what the library does, shown
//   Manual       the commands described, for the manual page
//   (the root)   the command `cipherdata` with all others below it

#if !Tool
  #error("the command-line tool needs the package trait Tool: swift build --traits Tool, or traits: [\"Tool\"] in a dependency")
#endif
