import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore

/// An operation on a store of books, one of the ten whose costs are pinned.
struct CountedWork {
  var name: String
  /// The preparation, which is not counted.
  var prepare: (CountedStore) throws -> Void = { _ in }
  /// The counted operation. Its result proves that it had an effect.
  var run: (CountedStore, Int) throws -> Int

  nonisolated(unsafe) static let all = [
    CountedWork(name: "open", prepare: { try $0.close() }) { store, _ in
      try store.open()
      return 1
    },
    CountedWork(name: "insert") { store, count in
      try store.insert(count)
      return count
    },
    CountedWork(name: "update", prepare: { $0.objects = try $0.all("Book") }) { store, _ in
      for book in store.objects { try book.setValue(Int64(2_000), forKey: "year") }
      try store.context.save()
      return store.objects.count
    },
    CountedWork(name: "delete", prepare: { $0.objects = try $0.all("Book") }) { store, _ in
      for book in store.objects { store.context.delete(book) }
      try store.context.save()
      return store.objects.count
    },
    CountedWork(name: "fetch") { store, _ in
      let books = try store.all("Book")
      return try books.count { try $0.value(forKey: "title") is String }
    },
    CountedWork(name: "find") { store, count in
      let predicate = FetchPredicate.compare("author.born", .less, 1_904) && .compare("title", .contains, "number")
      var found = 0
      for descending in [false, true] {
        found += try store.context.fetch(
          FetchRequest<ManagedObject>(
            entityName: "Book", predicate: predicate,
            sortDescriptors: [FetchSortDescriptor("year", ascending: !descending), FetchSortDescriptor("title")])
        ).count
      }
      return found
    },
    CountedWork(name: "group") { store, _ in
      var request = FetchRequest<[String: Any]>(entityName: "Book")
      request.propertiesToFetch = ["author.name", .expression(.function("max:", [.keyPath("price")]), as: "dearest")]
      request.propertiesToGroupBy = ["author.name"]
      return try store.context.fetch(request).count + store.context.count(for: FetchRequest<ManagedObject>(entityName: "Book"))
    },
    CountedWork(name: "follow", prepare: { $0.objects = try $0.all("Book") }) { store, _ in
      try store.objects.count { try ($0.value(forKey: "author") as? ManagedObject)?.value(forKey: "name") is String }
    },
    CountedWork(name: "members") { store, _ in
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.relationshipKeyPathsForPrefetching = ["subjects"]
      return try store.context.fetch(request).reduce(0) { $0 + ((try $1.value(forKey: "subjects") as? Set<ManagedObject>)?.count ?? 0) }
    },
    CountedWork(name: "batch") { store, _ in
      let changed = try store.context.execute(
        BatchUpdateRequest(entityName: "Book", predicate: .compare("year", .less, 1_960), propertiesToUpdate: ["year": Int64(2_001)]))
      let removed = try store.context.execute(BatchDeleteRequest(entityName: "Book", predicate: .compare("year", .equal, 2_001)))
      return changed.count + removed.count
    },
  ]
}
