import Foundation
public import ObjectModel

/// The models of the suites.
public enum SpecificationModels {
  /// Books with every kind of relationship: to-one with to-many inverse, many-to-many, ordered, without inverse, one-to-one, to itself.
  ///
  /// - `Author` —<> `books`; `spouse` one-to-one to itself; `mentor`/`pupils`; `friends` many-to-many, its own inverse.
  /// - `Book` — `author`, `tags` many-to-many with `Tag.books`, `chapters` ordered with `Chapter.book`; unique by `isbn`, and by title and
  ///   year.
  /// - `Shelf` — `books` ordered many-to-many with `Book.shelves` ordered, `hidden` to-many without inverse, `first` to-one without
  ///   inverse.
  public static let library: CompiledModel = compile([
    entity(
      "Author",
      [text("name"), integer("born"), toOne("spouse", "Author", "spouse"), toOne("mentor", "Author", "pupils")]
        + [toMany("pupils", "Author", "mentor"), toMany("friends", "Author", "friends"), toMany("books", "Book", "author")]),
    entity(
      "Book",
      [text("title"), text("isbn"), integer("year"), integer("pages"), attribute("price", .decimal), attribute("rating", .double)]
        + [attribute("published", .date), attribute("inPrint", .boolean), toOne("author", "Author", "books")]
        + [
          toMany("tags", "Tag", "books"), toMany("chapters", "Chapter", "book", ordered: true),
          toMany("shelves", "Shelf", "books", ordered: true),
        ],
      unique: [["isbn"], ["title", "year"]]),
    entity("Chapter", [text("title"), integer("pages"), toOne("book", "Book", "chapters")]),
    entity("Shelf", [text("name"), toMany("books", "Book", "shelves", ordered: true), toMany("hidden", "Book"), toOne("first", "Book")]),
    entity("Tag", [text("name"), toMany("books", "Book", "tags")], unique: [["name"]]),
  ])

  /// Inheritance three levels deep: abstract `Asset` (unique by `code`) with `Photo`, `Video` with `Clip`, abstract `Document` with
  /// `Letter`. `Note.asset` can refer to any of them.
  public static let assets: CompiledModel = {
    var asset = entity("Asset", [text("name"), text("code"), integer("size"), toMany("notes", "Note", "asset")], unique: [["code"]])
    asset.isAbstract = true
    var document = entity("Document", [integer("pages")], parent: "Asset")
    document.isAbstract = true
    return compile([
      asset, document,
      entity("Photo", [integer("width"), text("title"), toMany("posterOf", "Video", "poster")], parent: "Asset"),
      entity("Video", [attribute("seconds", .double), integer("title"), toOne("poster", "Photo", "posterOf")], parent: "Asset"),
      entity("Clip", [integer("start")], parent: "Video", unique: [["start"]]),
      entity("Letter", [text("recipient")], parent: "Document"),
      entity("Note", [text("body"), toOne("asset", "Asset", "notes"), toMany("assets", "Asset")]),
    ])
  }()

  /// One entity with an optional attribute of every stored type.
  public static let types: CompiledModel = compile([
    entity(
      "Sample",
      AttributeType.allCases.filter { ![.undefined, .composite].contains($0) }.map { attribute("a" + $0.rawValue.filter { $0 != " " }, $0) }
    )
  ])

  // MARK: Construction

  /// Returns an optional attribute.
  public static func attribute(_ name: String, _ type: AttributeType) -> PropertyDescription {
    .attribute(AttributeDescription(name: name, type: type, isOptional: true))
  }
  /// Returns a text attribute.
  public static func text(_ name: String) -> PropertyDescription { attribute(name, .string) }
  /// Returns a 64-bit integer attribute.
  public static func integer(_ name: String) -> PropertyDescription { attribute(name, .integer64) }
  /// Returns a to-one relationship.
  public static func toOne(_ name: String, _ destination: String, _ inverse: String? = nil) -> PropertyDescription {
    .relationship(RelationshipDescription(name: name, destination: destination, inverse: inverse))
  }
  /// Returns a to-many relationship.
  public static func toMany(_ name: String, _ destination: String, _ inverse: String? = nil, ordered: Bool = false) -> PropertyDescription {
    .relationship(RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: true, isOrdered: ordered))
  }
  /// Returns an entity.
  public static func entity(
    _ name: String, _ properties: [PropertyDescription], parent: String? = nil, unique: [[String]] = []
  ) -> EntityDescription {
    var entity = EntityDescription(name: name, superentity: parent, properties: properties)
    entity.uniquenessConstraints = unique
    return entity
  }
  /// Returns a compiled model with the given entities.
  public static func compiled(_ entities: [EntityDescription]) throws -> CompiledModel {
    try CompiledModel(ManagedObjectModel(entities: entities))
  }

  /// Returns a compiled model. The model must be valid.
  static func compile(_ model: ManagedObjectModel) -> CompiledModel {
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }

  /// Returns a compiled model with the given entities, which must be valid.
  static func compile(_ entities: [EntityDescription]) -> CompiledModel {
    do { return try compiled(entities) } catch { preconditionFailure("\(error)") }
  }
}
