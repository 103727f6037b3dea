// SyncCore: the synchronization protocol, without input and output, clocks, tasks, cryptography or a database.
//
// Events go in, actions come out, and all state is in values that a store keeps.
//
// The layers, from the bottom up:
//
//   Clocks   hybrid times, and the clock that a device stamps its saves with
//   Records  the state of an object in a zone, and how two states are joined
//   Commits  what devices send to a hub, and the messages of both
//   Wire     the encoding of what is sealed
//   Store    what the protocol needs of a store, and the visible state that follows from a zone's records
//   Client   the state machine of a device
//   Hub      the state machine of a hub: push and pull
