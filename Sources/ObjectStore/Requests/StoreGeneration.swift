// StoreGeneration: a state of a store that holds still, for requests that are answered from it.

/// A state of a store's rows that holds still: what ``IncrementalStore/currentGeneration(in:)`` gives, and ``RequestScope/generation`` names.
///
/// As long as somebody has the object, the store answers requests that name it from that state. A store gives the same object again where nothing was committed
/// since it gave it last. It may end a generation, when it is closed for example, and throws then with ``StoreError/Code/queryGenerationExpired``.
public protocol StoreGeneration: AnyObject, Sendable {
  /// Whether the state can be read no more.
  var isOver: Bool { get }
}
