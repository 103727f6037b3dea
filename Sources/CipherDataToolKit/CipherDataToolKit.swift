// CipherDataToolKit: the command-line tool without its process.
//
// The layers, from the bottom up:
//
//   Errors       errors and exit statuses
//   Terminal     the process and the terminal: messages, passphrases, progress, interruption
//   Input        bytes, lines and JSON input
//   Values       stored values as text and JSON
//   Output       tables, CSV and lines, and error messages
//   Store        opening and creating stores, and the options for it
//   Model        showing, checking, drawing and changing models, and generating code
//   Fetch        fetches and batch changes: options, paths and results
//   Export       object graphs as JSON lines
//   Debian       Debian's package lists
//   Import       JSON lines, package lists and Core Data stores as object graphs
//   Files        creating, copying, migrating and removing stores, and their keys
//   Doctor       checks of the machine and of a store's environment
//   History      the history as a table or lines
//   Follow       live results
//   Sync         synchronization with other devices
//   Report       a store as an HTML page
//   Shell        the interactive shell
//   Demo         the demonstration
//   Manual       the manual page
//   (the root)   the command `cipherdata` with its subcommands

#if !Tool
  #error("the command-line tool needs the package trait Tool: swift build --traits Tool, or traits: [\"Tool\"] in a dependency")
#endif
