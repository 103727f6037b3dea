// SyncHub: what devices need of a hub, and the embedded hub: one encrypted file that the clients of a machine open directly.
//
// The layers, from the bottom up:
//
//   Errors     the error type of hubs
//   Contract   the connection to a hub, and the values that it exchanges
//   Storage    the tables of a hub's file: zones, accounts, usage, verification
//   Files      creating, opening and replacing the file; transactions off the caller's thread
//   (the root) the embedded hub
