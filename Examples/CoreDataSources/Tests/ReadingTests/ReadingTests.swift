// Tests of the model layer with a store in memory.
// swift-format-ignore-file
import CoreData
import XCTest
@testable import Reading

final class ReadingTests: XCTestCase {
    var controller: PersistenceController!
    var context: NSManagedObjectContext!

    override func setUp() {
        super.setUp()
        controller = PersistenceController(inMemory: true)
        context = controller.container.viewContext
    }

    override func tearDown() {
        context = nil
        controller = nil
        super.tearDown()
    }

    func testAddingABook() throws {
        let repository = CoreDataRepository<Book>(managedObjectContext: context)
        let book = try repository.create().get()
        book.title = "Emma"
        book.shelf = .reading
        XCTAssertNotNil(book.id)
        let saved = expectation(forNotification: .NSManagedObjectContextDidSave, object: context) { notification in
            (notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count == 1
        }
        try context.saveIfNeeded()
        wait(for: [saved], timeout: 60)
        let found = try repository.get(predicate: NSPredicate(format: "shelf == %d", Book.Shelf.reading.rawValue), sortDescriptors: nil).get()
        XCTAssertEqual(found, [book])
        _ = repository.delete(entity: book)
        try context.saveIfNeeded()
        XCTAssertEqual(try context.count(for: Book.fetchRequest()), 0)
    }

    func testPreviewHasBooks() throws {
        let request: NSFetchRequest<Book> = Book.fetchRequest()
        request.sortDescriptors = [NSSortDescriptor(keyPath: \Book.pages, ascending: false)]
        let books = try PersistenceController.preview.container.viewContext.fetch(request)
        XCTAssertEqual(books.count, 10)
        XCTAssertEqual(books.first?.pages, 900)
    }

    func testObjectsWithoutATitleAreNotSaved() {
        _ = Book(context: context)
        XCTAssertThrowsError(try context.save()) { error in
            let nsError = error as NSError
            XCTAssertEqual(nsError.domain, NSCocoaErrorDomain)
            XCTAssertEqual(nsError.code, NSValidationMissingMandatoryPropertyError)
        }
    }

    func testNotesKeepTheirOrder() throws {
        let book = Book(context: context)
        book.title = "Emma"
        for text in ["first", "second"] {
            let note = Note(context: context)
            note.text = text
            book.addToNotes(note)
        }
        let zeroth = Note(context: context)
        zeroth.text = "zeroth"
        book.insertIntoNotes(zeroth, at: 0)
        try context.save()
        XCTAssertEqual(book.notesArray.map { $0.text }, ["zeroth", "first", "second"])
        book.removeFromNotes(at: 1)
        XCTAssertEqual(book.notes?.count, 2)
    }

    func testImportingBooks() async throws {
        let importer = BookImporter(container: controller.container)
        let records = [
            BookRecord(title: "Emma", author: "Austen", pages: 400),
            BookRecord(title: "Persuasion", author: "Austen", pages: 250),
            BookRecord(title: "Evelina", author: "Burney", pages: 500)
        ]
        let count = try await importer.importBooks(records)
        XCTAssertEqual(count, 3)
        try await importer.batchImport(records)
        let context = controller.container.newBackgroundContext()
        let (authors, books) = try await context.perform {
            (try context.count(for: NSFetchRequest<Author>(entityName: "Author")), try context.count(for: NSFetchRequest<Book>(entityName: "Book")))
        }
        XCTAssertEqual(authors, 2)
        XCTAssertEqual(books, 6)
    }

    func testDeletingEverything() throws {
        let book = Book(context: context)
        book.title = "Emma"
        try context.save()
        try BookImporter(container: controller.container).deleteAll()
        XCTAssertNil(book.managedObjectContext)
    }

    func testListUpdatesWithTheStore() throws {
        let list = BookList(context: context)
        let author = Author(context: context)
        author.name = "Austen"
        let book = Book(context: context)
        book.title = "Emma"
        author.addToBooks(book)
        try context.save()
        try list.load()
        XCTAssertEqual(list.sectionTitles, ["Austen"])
        var changes = 0
        list.onChange = { changes += 1 }
        let other = Book(context: context)
        other.title = "Persuasion"
        other.author = author
        context.processPendingChanges()
        XCTAssertEqual(changes, 1)
        XCTAssertEqual(list.insertedTitles, ["Persuasion"])
        XCTAssertEqual(list.titles(inSection: 0), ["Emma", "Persuasion"])
    }

    func testEditingInAChildContext() throws {
        let book = Book(context: context)
        book.title = "Emma"
        try context.save()
        let editing = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        editing.parent = context
        editing.undoManager = UndoManager()
        let draft = editing.object(with: book.objectID) as? Book
        draft?.title = "Emma, again"
        editing.processPendingChanges()
        editing.undoManager?.undo()
        XCTAssertEqual(draft?.title, "Emma")
        editing.undoManager?.redo()
        try editing.save()
        XCTAssertEqual(book.title, "Emma, again")
        XCTAssertTrue(context.hasChanges)
        context.rollback()
        XCTAssertEqual(book.title, "Emma")
    }
}
