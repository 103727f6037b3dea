import CipherData
import CipherDataEngine
import Foundation
import XCTest

/// Classes with `@Entity` declare the same model as a file, and behave as generated classes.
final class EntityMacroTests: XCTestCase {
  private static let file = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="library-1">
        <entity name="Author" representedClassName="Author">
            <attribute name="name" attributeType="String" elementID="label"/>
            <attribute name="born" optional="YES" attributeType="Integer 64" usesScalarValueType="YES"/>
            <relationship name="books" optional="YES" toMany="YES" deletionRule="Deny" destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
            <userInfo><entry key="colour" value="blue"/></userInfo>
        </entity>
        <entity name="Book" representedClassName="Book" parentEntity="Item">
            <attribute name="isbn" optional="YES" attributeType="String" regularExpressionString="[0-9]{13}"/>
            <attribute name="pages" attributeType="Integer 32" minValueString="0" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="progress" attributeType="Integer 16" defaultValueString="0" customClassName="Progress" usesScalarValueType="YES"/>
            <attribute name="keywords" attributeType="Transformable" defaultValueString="W10=" customClassName="Array&lt;String&gt;"/>
            <attribute name="scan" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            <attribute name="titleKey" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
            <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
            <relationship name="chapters" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" destinationEntity="Section" inverseName="book" inverseEntity="Section"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="isbn"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        <entity name="Item" representedClassName="Item" isAbstract="YES">
            <attribute name="title" attributeType="String" minValueString="1" maxValueString="80"/>
            <attribute name="released" optional="YES" attributeType="Date" usesScalarValueType="YES"/>
            <attribute name="price" attributeType="Decimal" minValueString="0" defaultValueString="0"/>
            <fetchIndex name="byTitle"><fetchIndexElement property="title" type="Binary" order="ascending"/></fetchIndex>
            <uniquenessConstraints><uniquenessConstraint><constraint value="title"/><constraint value="released"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        <entity name="Section" representedClassName="Chapter">
            <attribute name="heading" attributeType="String"/>
            <relationship name="book" maxCount="1" deletionRule="Nullify" destinationEntity="Book" inverseName="chapters" inverseEntity="Book"/>
        </entity>
    </model>
    """

  private func model() -> ManagedObjectModel { ManagedObjectModel(version: "library-1", Book.self, Author.self) }

  private func container(_ type: StoreType, _ folder: URL) async throws -> PersistentContainer {
    let description =
      type == .inMemory
      ? PersistentStoreDescription(type: .inMemory)
      : PersistentStoreDescription(url: folder.appendingPathComponent("Library.store"), key: .passphrase("correct horse battery staple"))
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: model(), classes: ManagedObjectClasses(Book.self, Author.self),
      persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  func testModelEqualsTheModelFile() throws {
    let file = try ManagedObjectModel(xmlData: Data(Self.file.utf8))
    let macro = model()
    XCTAssertEqual(Set(macro.entities.map(\.name)), ["Author", "Book", "Item", "Section"])
    let written = try ManagedObjectModel(xmlData: try macro.xmlData())
    for entity in file.entities { XCTAssertEqual(written.entity(named: entity.name), entity, entity.name) }
    XCTAssertEqual(macro.versionHashesByEntityName, file.versionHashesByEntityName)
    XCTAssertEqual(macro.versionIdentifiers, file.versionIdentifiers)
    XCTAssertEqual(try CompiledModel(macro).checksum, try CompiledModel(file).checksum)
    XCTAssertEqual(Author.entityDescription.relationships[0].inverseName, nil, "the book names it")
    XCTAssertEqual(Book.entityDescription.relationships[0].inverseName, "books")
    XCTAssertEqual([Book.entityName, Chapter.entityName], ["Book", "Section"])
  }

  func testObjectsAreSavedInAnEncryptedStore() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("MacroTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for type in [StoreType.inMemory, .sqlcipher] {
      let context = try await container(type, folder).newBackgroundContext()
      let author = Author(context: context)
      author.name = "Ada"
      author.born = 1815
      let book = Book(context: context)
      XCTAssertEqual(book.pages, 0)
      XCTAssertEqual(book.progress, .unread)
      XCTAssertEqual(book.keywords, [])
      book.title = "Notes"
      book.price = 3
      book.pages = 65
      book.progress = .reading
      book.keywords = ["engine"]
      book.scan = Data([1, 2])
      book.author = author
      let chapters = ["A", "B"].map { heading in
        let chapter = Chapter(context: context)
        chapter.heading = heading
        return chapter
      }
      book.chapters = chapters
      XCTAssertEqual(author.books, [book])
      XCTAssertIdentical(chapters[1].book, book)
      try context.save()
      let id = book.objectID
      context.reset()
      let found = try XCTUnwrap(context.existingObject(with: id) as? Book)
      XCTAssertEqual(found.title, "Notes")
      XCTAssertEqual(found.price, 3)
      XCTAssertEqual(found.pages, 65)
      XCTAssertEqual(found.progress, .reading)
      XCTAssertEqual(found.keywords, ["engine"])
      XCTAssertEqual(found.scan, Data([1, 2]))
      XCTAssertEqual(found.author?.name, "Ada")
      XCTAssertEqual(found.author?.born, 1815)
      XCTAssertEqual(found.chapters.map(\.heading), ["A", "B"])
      try found.setValue(Int16(77), forKey: "progress")
      XCTAssertEqual(found.progress, .unread, "another version's raw value reads as the initial one")
    }
  }

  func testObjectsAreFetchedByTypedClosuresAndPredicates() async throws {
    let context = try await container(.inMemory, FileManager.default.temporaryDirectory).newBackgroundContext()
    let author = Author(context: context)
    author.name = "Ada"
    for number in 1...3 {
      let book = Book(context: context)
      book.title = "Volume \(number)"
      book.pages = Int32(number * 100)
      book.progress = number == 2 ? .finished : .reading
      book.author = author
    }
    try context.save()
    let long = Book.all.where { $0[\.pages] > 100 && $0[\.author][\.name] == "Ada" && $0[\.progress] != .finished }.sorted {
      $0[\.title].descending
    }
    XCTAssertEqual(try context.fetch(long).map(\.title), ["Volume 3"])
    XCTAssertEqual(long.predicate, try FetchPredicate(format: "pages > 100 AND author.name == 'Ada' AND progress != 2"))
    XCTAssertEqual(try context.count(for: Author.all.where { $0[\.books].any { $0[\.title] == "Volume 1" } }), 1)
    XCTAssertEqual(try context.count(for: Item.all.where { $0.is(Book.self) && $0[\.title] != nil }), 3)
    XCTAssertEqual(
      try FetchPredicate(#Predicate<Book> { $0.pages > 1 && $0.author?.name == "Ada" }),
      try FetchPredicate(format: "pages > 1 AND author.name == 'Ada'"))
    let titles: [String?] = try context.fetch(Book.all.select { $0[\.title] }.sorted { $0[\.title] })
    XCTAssertEqual(titles, ["Volume 1", "Volume 2", "Volume 3"])
  }

  func testPublicClassesAndKeywordNamesAreSupported() async throws {
    let model = ManagedObjectModel(Shelf.self)
    XCTAssertEqual(model.entities.map(\.name), ["Shelf"])
    XCTAssertEqual(model.entities[0].attributes.map(\.name), ["default", "scratch", "place"])
    XCTAssertEqual(model.entities[0].attributes.map(\.isTransient), [false, true, false])
    XCTAssertEqual(model.validationIssues(), [])
    let container = try PersistentContainer(
      name: "Shelf", managedObjectModel: model, classes: ManagedObjectClasses(Shelf.self),
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let shelf = Shelf(context: context)
    XCTAssertEqual(shelf.default, 7)
    shelf.place = Place(room: "attic", row: 2)
    try context.save()
    XCTAssertEqual(try context.fetch(Shelf.all.where { $0[\.default] == 7 }).first?.place, Place(room: "attic", row: 2))
  }

  func testClassesOfAnotherModelAreRejectedByMacroEntities() throws {
    var model = model()
    model.entities[0].properties.reverse()
    XCTAssertThrowsError(
      try PersistentContainer(name: "Other", managedObjectModel: model, classes: ManagedObjectClasses(Book.self, Author.self)))
  }
}
