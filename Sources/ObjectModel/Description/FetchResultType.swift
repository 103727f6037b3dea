/// The type of a fetch's results. `FetchRequest` derives it from its result type.
public enum FetchResultType: String, Sendable, Hashable, Codable {
  /// Managed objects.
  case objects
  /// Object IDs.
  case objectIDs
  /// Dictionaries of selected properties.
  case dictionaries
  /// The number of results: objects, or dictionaries if groups, aggregates or distinct results reduce their number.
  case count
}
