// CipherDataToolKit: the command-line tool without its process.
//
// The layers, from the bottom up:
//
//   Errors       errors and exit statuses
//   Terminal     the terminal: messages, passphrases, progress, interruption
//   Input        bytes, lines and JSON input
//   Values       stored values as text and JSON
//   Output       tables, CSV and lines
//   Drawing      models as pictures
//   Debian       Debian's package lists
//   Fetch        fetches: options, paths and results
//   Export       object graphs as JSON lines
//   Import       JSON lines and package lists as object graphs
//   Store        creating stores
//   Follow       live results
//   History      the history as a table or lines
//   Report       a store as an HTML page
//   Doctor       checks of the machine and of a store's environment
//   Commands     the commands, one type each
//   Shell        the interactive shell
//   Demo         the demonstration
//   Manual       the manual page
//   (the root)   the command `cipherdata` with its subcommands

#if !Tool
  #error("the command-line tool needs the package trait Tool: swift build --traits Tool, or traits: [\"Tool\"] in a dependency")
#endif
