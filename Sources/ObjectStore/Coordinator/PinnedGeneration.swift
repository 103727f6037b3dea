import Foundation
import ObjectModel
import Synchronization

/// A generation of a store with its own row cache. All contexts that read the same generation share one instance and its cached rows.
package final class PinnedGeneration: Sendable, Hashable {
  /// The maximum size of the row cache in bytes.
  static let cacheLimit = 4 << 20
  private static let lastNumber = Atomic<Int>(0)

  package let store: PersistentStore
  package let generation: any StoreGeneration
  package let cache: RowCache
  let startDate = Date()
  /// A number that is unique in the process.
  package let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let holders = Mutex<[UInt64: QueryGeneration.Holder]>([:])

  init(_ generation: any StoreGeneration, of store: PersistentStore, model: CompiledModel) {
    (self.generation, self.store) = (generation, store)
    cache = RowCache(model: model, byteLimit: Self.cacheLimit)
  }

  /// Compares identity: there is one instance for each generation.
  package static func == (one: PinnedGeneration, other: PinnedGeneration) -> Bool { one === other }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }

  /// Whether the generation can no longer be read.
  package var isOver: Bool { generation.isOver }

  /// Records that a context reads the generation.
  ///
  /// - Parameter number: The number that identifies the context in ``release(_:)``.
  package func hold(_ number: UInt64, named name: String?) {
    holders.withLock { $0[number] = QueryGeneration.Holder(contextName: name, since: Date()) }
  }

  /// Records that a context no longer reads the generation.
  package func release(_ number: UInt64) { holders.withLock { $0[number] = nil } }

  var description: QueryGeneration {
    QueryGeneration(startDate: startDate, holders: holders.withLock { $0.values.sorted { $0.since < $1.since } })
  }
}
