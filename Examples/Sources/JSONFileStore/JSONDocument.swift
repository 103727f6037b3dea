import Foundation

/// The file format of a ``JSONFileStore``. Entities and relationships are identified by name, so that a reader needs no model.
struct JSONDocument: Codable {
  /// The entity and key of an object.
  struct Reference: Codable {
    var entity: String
    var key: Int64
  }

  /// A value, as an object whose only key is its type. Floating-point numbers are texts, since JSON does not support infinity.
  enum Value: Codable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes(Data)
    case object(Reference)

    private enum Key: String, CodingKey {
      case integer, real, text, bytes, object
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      switch container.allKeys.first {
      case .integer: self = .integer(try container.decode(Int64.self, forKey: .integer))
      case .text: self = .text(try container.decode(String.self, forKey: .text))
      case .bytes: self = .bytes(try container.decode(Data.self, forKey: .bytes))
      case .object: self = .object(try container.decode(Reference.self, forKey: .object))
      case .real:
        guard let number = Double(try container.decode(String.self, forKey: .real)) else {
          throw DecodingError.dataCorruptedError(forKey: .real, in: container, debugDescription: "The text is no number.")
        }
        self = .real(number)
      case nil: throw DecodingError.dataCorrupted(.init(codingPath: container.codingPath, debugDescription: "The value has no type."))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      switch self {
      case .integer(let value): try container.encode(value, forKey: .integer)
      case .real(let value): try container.encode("\(value)", forKey: .real)
      case .text(let value): try container.encode(value, forKey: .text)
      case .bytes(let value): try container.encode(value, forKey: .bytes)
      case .object(let value): try container.encode(value, forKey: .object)
      }
    }
  }

  /// An object with its non-nil values.
  struct Object: Codable {
    var reference: Reference
    var version: Int64
    var values: [String: Value]
  }

  /// A link between two objects. Its relationship is identified by entity and name.
  struct Link: Codable {
    var entity: String
    var relationship: String
    var source: Reference
    var destination: Reference
  }

  /// The order of an object's members in an ordered relationship.
  struct Order: Codable {
    var entity: String
    var relationship: String
    var source: Reference
    var members: [Reference]
  }

  var storeIdentifier: String
  var modelHashes: [String: Data]
  var versionIdentifiers: [String] = []
  var userMetadata: [String: String] = [:]
  /// The next key by the name of the root entity.
  var nextKeys: [String: Int64] = [:]
  var objects: [Object] = []
  var links: [Link] = []
  var orders: [Order] = []
}
