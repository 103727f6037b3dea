// Background imports of objects and of rows.
// swift-format-ignore-file
import CoreData

/// A record from a server.
public struct BookRecord: Decodable, Sendable {
    public let title: String
    public let author: String
    public let pages: Int

    public init(title: String, author: String, pages: Int) {
        self.title = title
        self.author = author
        self.pages = pages
    }
}

/// Imports in the background: small lists as objects, large ones as rows.
public final class BookImporter: Sendable {
    private let container: NSPersistentContainer

    public init(container: NSPersistentContainer) {
        self.container = container
    }

    /// Finds or creates the authors.
    public func importBooks(_ records: [BookRecord]) async throws -> Int {
        try await container.performBackgroundTask { context in
            context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
            context.transactionAuthor = "import"
            for record in records {
                let request: NSFetchRequest<Author> = Author.fetchRequest()
                request.predicate = NSPredicate(format: "%K == %@", "name", record.author)
                request.fetchLimit = 1
                let author = try context.fetch(request).first ?? Author(context: context)
                author.name = record.author
                let book = Book(context: context)
                book.title = record.title
                book.pages = Int32(record.pages)
                book.author = author
            }
            if context.hasChanges {
                try context.save()
            }
            return records.count
        }
    }

    /// Inserts rows without objects.
    public func batchImport(_ records: [BookRecord]) async throws {
        let taskContext = container.newBackgroundContext()
        taskContext.name = "importContext"
        taskContext.transactionAuthor = "importBooks"
        try await taskContext.perform {
            var index = 0
            let total = records.count
            let batchInsertRequest = NSBatchInsertRequest(entity: Book.entity(), dictionaryHandler: { dictionary in
                guard index < total else { return true }
                dictionary.addEntries(from: ["title": records[index].title, "pages": NSNumber(value: records[index].pages)])
                index += 1
                return false
            })
            if let fetchResult = try? taskContext.execute(batchInsertRequest),
               let batchInsertResult = fetchResult as? NSBatchInsertResult,
               let success = batchInsertResult.result as? Bool, success {
                return
            }
            throw CoreDataError.invalidManagedObjectType
        }
    }

    /// Deletes everything, and updates the view context.
    public func deleteAll() throws {
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let fetchRequest: NSFetchRequest<NSFetchRequestResult> = NSFetchRequest(entityName: "Book")
            let deleteRequest = NSBatchDeleteRequest(fetchRequest: fetchRequest)
            deleteRequest.resultType = .resultTypeObjectIDs
            let result = try context.execute(deleteRequest) as? NSBatchDeleteResult
            let changes: [AnyHashable: Any] = [NSDeletedObjectsKey: result?.result as? [NSManagedObjectID] ?? []]
            NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [container.viewContext])
        }
    }
}
