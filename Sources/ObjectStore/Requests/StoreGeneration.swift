/// A snapshot of a store's rows, returned by ``IncrementalStore/currentGeneration(in:)`` and named by ``RequestScope/generation``.
///
/// As long as the object is referenced, the store answers requests that name it from the snapshot. If nothing was committed since the last
/// call, the store returns the same object. A store may end a generation, for example when it is closed; requests then throw
/// ``StoreError/Code/queryGenerationExpired``.
public protocol StoreGeneration: AnyObject, Sendable {
  /// Whether the snapshot can no longer be read.
  var isOver: Bool { get }
}
