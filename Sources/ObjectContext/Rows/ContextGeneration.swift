// ContextGeneration: the states of stores that a pinned context reads.
import Foundation
import ObjectStore
import Synchronization

/// What a pinned context reads: of each store a state, pinned when the context first reads anything, or named by a token.
final class ContextGeneration {
  private(set) var generations: [PinnedGeneration]
  /// A number that no other has: a context that is pinned to the same state once more holds it twice for a moment.
  private let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private static let lastNumber = Atomic<UInt64>(0)

  /// - Parameters:
  ///   - generations: The states that are known; the stores of none are pinned at the next read.
  ///   - name: The context's name.
  init(_ generations: [PinnedGeneration] = [], named name: String?) {
    self.generations = generations
    for generation in generations { generation.hold(number, named: name) }
  }

  deinit { for generation in generations { generation.release(number) } }

  /// The token by which others read the same; ``QueryGenerationToken/current`` as long as nothing was read.
  var token: QueryGenerationToken { QueryGenerationToken(generations) }

  /// The state of a store; nil as long as nothing was read of any, or of this one.
  @inline(__always) func known(of store: PersistentStore) -> PinnedGeneration? {
    for generation in generations where generation.store === store { return generation }
    return nil
  }

  /// Pins the stores of which no state is known, all that are open at once.
  ///
  /// - Throws: ``StoreError`` where a store cannot be pinned, or was opened anew since it was: the state that the context reads has ended then.
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
