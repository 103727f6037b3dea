// FetchResultType: what a fetch returns.

/// What a fetch returns: objects, their IDs, dictionaries of values, or how many there are. `FetchRequest` takes it from its result's type.
public enum FetchResultType: String, Sendable, Hashable, Codable {
  /// Managed objects.
  case objects
  /// Object IDs.
  case objectIDs
  /// Dictionaries of chosen properties.
  case dictionaries
  /// The number of results: of objects; or of dictionaries, where groups, aggregates or distinctness make them fewer.
  case count
}
