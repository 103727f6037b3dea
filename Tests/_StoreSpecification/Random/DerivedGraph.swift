import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Random saves, batch requests and deletions on the model of ``DerivedAttributeSpecification``.
struct DerivedGraph {
  private let context: ManagedObjectContext
  private var random: SeededGenerator
  /// Objects that stay alive across rounds.
  private var held: [ManagedObject] = []

  init(seed: UInt64, context: ManagedObjectContext) {
    self.context = context
    random = SeededGenerator(seed: seed)
  }

  private mutating func some(_ entity: String) throws -> ManagedObject? { try context.all(entity).randomElement(using: &random) }
  private mutating func text() -> String {
    ["Émile", "Zoë", "straße", "ÇELIK", random.word(length: 1...4)].randomElement(using: &random) ?? ""
  }
  private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  private mutating func values(of entity: String) throws -> [String: Any?] {
    switch entity {
    case "Author": return ["name": chance(5) ? nil : text(), "country": try some("Country"), "home": ["city": text()]]
    case "Country": return ["name": text()]
    case "Chapter": return ["words": chance(5) ? nil : Int64.random(in: -9...40_000, using: &random), "book": try some("Book")]
    case "Tag": return ["name": text()]
    case "List": return [:]
    default:
      return [
        "title": text(), "pages": chance(5) ? nil : Int32.random(in: 0...900, using: &random),
        "price": chance(5) ? nil : Decimal(Int.random(in: 1...99_999, using: &random)) / 100,
        "rating": chance(5) ? nil : Double(Int.random(in: 0...50, using: &random)) / 8, "author": chance(6) ? nil : try some("Author"),
      ]
    }
  }

  private static let entities = ["Author", "Book", "Novel", "Chapter", "Tag", "Country", "List", "Book", "Chapter"]

  /// Runs one save or batch request.
  mutating func change() throws {
    if chance(4) { return try batch() }
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let entity = Self.entities.randomElement(using: &random) ?? "Book"
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2: held.append(try context.insert(entity, try values(of: entity)))
      case 3:
        guard let object = try some(entity) else { continue }
        for (key, value) in try values(of: entity) where chance(2) { try object.setValue(value, forKey: key) }
      case 4:
        if let object = try some(entity), !chance(3) { context.delete(object) }
      case 5:
        guard let book = try some("Book") else { continue }
        try book.setValue(Set(try context.all("Tag").filter { _ in chance(2) }), forKey: "tags")
      case 6:
        if let list = try some("List") { try list.setValue(Set(try context.all("Book").filter { _ in chance(2) }), forKey: "items") }
        if let book = try some("Book") { try book.setValue(Array(book.list("chapters").reversed()), forKey: "chapters") }
      default:
        if let tag = try some("Tag") { try tag.setValue(Array(tag.list("books").shuffled(using: &random).dropLast()), forKey: "books") }
      }
    }
    try context.save()
  }

  private mutating func batch() throws {
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let author = try some("Author")?.objectID
      let rows: [[String: any Sendable]] = (0..<4).map { number in
        var row: [String: any Sendable] = ["title": "batch \(number)", "pages": number * 10]
        if let author { row["author"] = author }
        return row
      }
      try context.execute(BatchInsertRequest(entityName: chance(2) ? "Book" : "Novel", objects: rows))
    case 1: try context.execute(BatchUpdateRequest(entityName: "Author", propertiesToUpdate: ["name": text()]))
    case 2:
      guard let author = try some("Author") else { return }
      try context.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: try FetchPredicate(format: "pages < 300"),
          propertiesToUpdate: ["author": author.objectID, "pages": FetchExpression(format: "pages * 2")]))
    case 3:
      try context.execute(
        BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "pages > 700")))
    default:
      guard let author = try some("Author"), chance(2) else { return }
      try context.execute(BatchDeleteRequest(objectIDs: [author.objectID]))
    }
  }

  /// Checks that the retained objects agree with the store.
  func checkLivingObjects(_ round: String) throws {
    for object in held where object.managedObjectContext != nil && !object.isDeleted {
      for (key, value) in Self.expected(object) {
        let slot = object.compiledEntity.slots.first { $0.name == key }
        XCTAssertEqual(slot.map { object.slotValue($0.index) }, value, "\(object.objectID.entityName).\(key) in \(round)")
      }
    }
  }

  /// The expected derived attributes of an object, from its relationships.
  static func expected(_ object: ManagedObject) -> [String: Slot] {
    func text(_ value: String?) -> Slot { value.map { .text($0) } ?? .null }
    func integer(_ value: Int64?) -> Slot { value.map { .int($0) } ?? .null }
    let author = object.compiledEntity.property(named: "author") == nil ? nil : object.object("author")
    switch object.objectID.entityName {
    case "Author":
      let books = object.members("books")
      let pages = books.compactMap { $0["pages"] as? Int32 }.map(Int64.init)
      let ratings = books.compactMap { $0["rating"] as? Double }
      let words = books.flatMap { $0.list("chapters") }.compactMap { $0.integer("words") }
      return [
        "nameKey": text(object.text("name").map { TextFolding.fold($0, [.caseInsensitive, .diacriticInsensitive]) }),
        "cityKey": text(((object["home"] as? [String: Any])?["city"] as? String)?.uppercased()), "bookCount": .int(Int64(books.count)),
        "priceSum": .bytes(DecimalCoding.encode(books.compactMap { $0["price"] as? Decimal }.reduce(0, +))),
        "pageSum": .int(pages.reduce(0, +)), "mostPages": integer(pages.max()), "leastPages": integer(pages.min()),
        "meanRating": ratings.isEmpty ? .null : .real(ratings.reduce(0, +) / Double(ratings.count)), "wordSum": .int(words.reduce(0, +)),
        "firstTitle": text(books.compactMap { $0.text("title") }.min { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }),
      ]
    case "Book", "Novel":
      let words = object.list("chapters").compactMap { $0.integer("words") }.reduce(0, +)
      var values: [String: Slot] = [
        "authorName": text(author?.text("name")), "authorShout": text(author?.text("name")?.uppercased()),
        "authorKey": text(author?.text("name").map { TextFolding.fold($0, [.caseInsensitive, .diacriticInsensitive]) }?.lowercased()),
        "authorCity": text((author?["home"] as? [String: Any])?["city"] as? String), "words": .int(words),
        "smallWords": words <= 32_767 ? .int(words) : .null, "tagCount": .int(Int64(object.members("tags").count)),
        "siblings": .int(Int64(author?.members("books").count ?? 0)),
      ]
      if object.objectID.entityName == "Novel" { values["genreKey"] = text(object.text("genre")) }
      return values
    case "Chapter": return ["bookTitle": text(object.object("book")?.text("title"))]
    case "Tag":
      let books = object.list("books")
      return [
        "bookCount": .int(Int64(books.count)), "pages": .int(books.compactMap { $0["pages"] as? Int32 }.reduce(0) { $0 + Int64($1) }),
      ]
    case "List":
      let items = object.members("items")
      return ["itemCount": .int(Int64(items.count)), "ratingSum": .real(items.compactMap { $0["rating"] as? Double }.reduce(0, +))]
    default: return [:]
    }
  }
}
