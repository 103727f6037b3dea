// PinnedGeneration: a state of an open store that contexts read, with a row cache of its own.
import Foundation
import ObjectModel
import Synchronization

/// A state of a store that contexts read; all contexts that read the same state share one, and with it the rows that one of them has read.
package final class PinnedGeneration: Sendable, Hashable {
  /// The bytes of rows that are kept at hand for each.
  static let cacheLimit = 4 << 20
  private static let lastNumber = Atomic<Int>(0)

  package let store: PersistentStore
  package let generation: any StoreGeneration
  package let cache: RowCache
  /// When it was begun.
  let begun = Date()
  /// A number that no other has.
  package let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let holders = Mutex<[UInt64: QueryGeneration.Holder]>([:])

  init(_ generation: any StoreGeneration, of store: PersistentStore, model: CompiledModel) {
    (self.generation, self.store) = (generation, store)
    cache = RowCache(model: model, byteLimit: Self.cacheLimit)
  }

  /// Each state has one object.
  package static func == (one: PinnedGeneration, other: PinnedGeneration) -> Bool { one === other }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }

  /// Whether it can be read no more.
  package var isOver: Bool { generation.isOver }

  /// A context reads it from now on.
  ///
  /// - Parameter number: What the context is known by until it releases it.
  package func hold(_ number: UInt64, named name: String?) {
    holders.withLock { $0[number] = QueryGeneration.Holder(contextName: name, since: Date()) }
  }

  /// A context reads it no more.
  package func release(_ number: UInt64) { holders.withLock { $0[number] = nil } }

  /// What is told of it.
  var description: QueryGeneration {
    QueryGeneration(begun: begun, holders: holders.withLock { $0.values.sorted { $0.since < $1.since } })
  }
}
