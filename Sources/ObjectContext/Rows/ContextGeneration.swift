import Foundation
import ObjectStore
import Synchronization

/// The store states that a pinned context reads: one per store, pinned at the context's first read or given by a token.
final class ContextGeneration {
  private(set) var generations: [PinnedGeneration]
  /// A unique number. A context that is pinned to the same state again briefly holds it twice.
  private let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private static let lastNumber = Atomic<UInt64>(0)

  /// Creates a generation and holds its pinned states.
  ///
  /// - Parameters:
  ///   - generations: The states that are already pinned. Other stores are pinned at the next read.
  ///   - name: The context's name.
  init(_ generations: [PinnedGeneration] = [], named name: String?) {
    self.generations = generations
    for generation in generations { generation.hold(number, named: name) }
  }

  deinit { for generation in generations { generation.release(number) } }

  /// The token with which another context reads the same states; ``QueryGenerationToken/current`` before the first read.
  var token: QueryGenerationToken { QueryGenerationToken(generations) }

  /// Returns the pinned state of a store; nil if the store is not pinned yet.
  @inline(__always) func known(of store: PersistentStore) -> PinnedGeneration? {
    for generation in generations where generation.store === store { return generation }
    return nil
  }

  /// Pins all given stores that are not pinned yet.
  ///
  /// - Throws: ``StoreError`` if a store cannot be pinned, or if it was reopened after it was pinned, which ends the state that the context
  ///   reads.
  func pin(_ stores: [PersistentStore], named name: String?, _ scope: (PersistentStore) -> RequestScope) throws {
    for store in stores where known(of: store) == nil {
      if generations.contains(where: { $0.store.identifier == store.identifier }) {
        throw StoreError(.queryGenerationExpired, operation: .read, path: store.url?.path)
      }
      let generation = try store.pin(scope(store))
      generation.hold(number, named: name)
      generations.append(generation)
    }
  }
}
