import CipherData
import Foundation

/// How a thing is bound: string raw values.
enum Binding: String, Sendable {
  case soft, hard
}

/// The fate of a thing: integer raw values.
enum Fate: Int, Sendable {
  case shown, lent, lost
}

/// A value that is not `Codable`.
struct Colour: Sendable, Hashable {
  var red: UInt8
  var green: UInt8
  var blue: UInt8
}

/// Encodes a color in three bytes.
struct ColourTransformer: AttributeTransformer {
  struct Malformed: Error {}
  func data(from value: Colour) -> Data { Data([value.red, value.green, value.blue]) }
  func value(from data: Data) throws -> Colour {
    guard data.count == 3 else { throw Malformed() }
    let bytes = [UInt8](data)
    return Colour(red: bytes[0], green: bytes[1], blue: bytes[2])
  }
}

/// A point on the globe.
@Composite struct Point {
  @Attribute(.range(-90...90)) var latitude: Double = 0
  @Attribute(.range(-180...180)) var longitude: Double = 0
}

/// A postal address.
@Composite(name: "PostalAddress", .userInfo("form", "letters")) struct Address {
  @Attribute(.length(...200)) var street: String?
  @Attribute(.length(1...80), .renamed(from: "town")) var city: String
  @Attribute var fate: Fate = .shown
  @Attribute(.composite, .hashModifier("p2")) var point: Point?
  @Attribute var binding: Binding?
  @Attribute var lines: [String] = []
  @Attribute(.transformed(by: "Colour")) var colour: Colour?
  @Attribute var `default`: Bool = false
  @Attribute(.externalStorage) var photo: Data?
  /// Not a part of the composite.
  var label: String { "\(city), \(street ?? "")" }
}

@Entity(
  name: "Thing", .abstract, .renamed(from: "Object"), .hashModifier("second"), .userInfo("shelf", "top"), .spotlightName("title"),
  .unique("title", "made"), .unique("room", "rank"), .index("byTitleAndMade", on: "title", "made"),
  .index("heavy", on: "weight", where: "weight > 1"),
  .index("lately", .descending("made"), .ascending("title", collation: .caseAndDiacriticInsensitive), where: "rank > 2"),
  .index("words", fullText: "title", "text"), .index("lower", FetchIndexElement(expression: "lowercase:(title)")),
  .index("byCity", on: "home.city"))
class Exhibit: ManagedObject {
  @Attribute(.length(1...80), .indexed, .validated) var title: String
  @Attribute(.length(...5000)) var text: String?
  @Attribute(.unique, .matching("[A-Z]{2}[0-9]+")) var code: String? = "AA0"
  @Attribute(.range(0...9), .validated) var rank: Int16 = 3
  @Attribute(.range((-5)...)) var level: Int32 = 0
  @Attribute(.range(...1_000_000)) var total: Int64 = 0
  @Attribute(.validated) var number: Int?
  @Attribute(.range(0...)) var price: Decimal = 0
  @Attribute(.range(0.5...2.5)) var weight: Double = 1.5
  @Attribute(.range(...1)) var share: Float = 0.25
  @Attribute(.renamed(from: "shown")) var isShown: Bool = true
  @Attribute(.range(Date(timeIntervalSinceReferenceDate: 0)...), .preservedOnDeletion) var made: Date?
  @Attribute(.externalStorage, .allowsCloudEncryption) var scan: Data?
  @Attribute(.hashModifier("b")) var token: UUID?
  @Attribute(.indexedBySpotlight) var link: URL?
  @Attribute(.composite, .renamed(from: "address")) var home: Address?
  @Attribute(.validated) var binding: Binding = .soft
  @Attribute(.required) var fate: Fate?
  @Attribute(.userInfo("unit", "line"), .length(...90)) var caption: String?
  @Attribute(.validated) var keywords: [String: Int] = [:]
  @Attribute(.transformed(by: "Colour")) var colour: Colour?
  @Attribute(.transformed(by: "Colour"), .transient) var glow: Colour = Colour(red: 1, green: 1, blue: 1)
  @Attribute(.transformed(by: "Colour")) var paint: (any Sendable)?
  @Attribute(.transient) var scratch: (any Sendable)?
  @Attribute(.transient) var cached: String?
  @Attribute(.derived("uppercase:(title)")) var shout: String?
  @Attribute(.composite) var found: Point
  @Relationship(deleteRule: .nullify, inverse: \Room.exhibits, .required, .renamed(from: "hall"), .hashModifier("r"), .userInfo("a", "b"))
  var room: Room?
  @Relationship(.symmetric, .count(...5)) var alike: Set<Exhibit>
  @Relationship(deleteRule: .noAction, .transient) var touched: Exhibit?
  @FetchedProperty(where: "rank == $FETCH_SOURCE.rank AND SELF != $FETCH_SOURCE", .userInfo("order", "any")) var peers: [Exhibit]

  func validateTitle(_ value: inout String) throws {
    value = value.trimmingCharacters(in: .whitespaces)
    if value == "forbidden" { throw Forbidden() }
  }
  func validateRank(_ value: inout Int16) { value = max(value, 1) }
  func validateNumber(_ value: inout Int?) { if value == 0 { value = nil } }
  func validateBinding(_ value: inout Binding) { if number == 7 { value = .hard } }
  func validateKeywords(_ value: inout [String: Int]) { value["checked"] = 1 }
}

/// The error of a validation rule.
struct Forbidden: Error {}

@Entity final class Statue: Exhibit {
  @Attribute(.composite) var site: Address
  @Attribute var material: String = "stone"
  @Attribute(.externalStorage) var model: Data?
  @Relationship(deleteRule: .cascade, inverse: \Part.statue, .count(0...9)) var parts: [Part]
}

@Entity final class Room: ManagedObject {
  @Attribute var id: UUID?
  @Attribute(.derived("exhibits.@count", where: "rank > 2")) var high: Int64?
  @Relationship(deleteRule: .deny, .count(1...)) var exhibits: Set<Exhibit>
  @FetchedProperty(.required) var everything: [Exhibit]
}

@Entity final class Part: ManagedObject {
  @Attribute var name: String
  @Relationship var statue: Statue?
  @Relationship(inverse: \Part.pieces) var whole: Part?
  @Relationship(deleteRule: .cascade) var pieces: Set<Part>
  @FetchedProperty(where: "ANY parts == $FETCH_SOURCE") var wholes: [Statue]
}
