package import Foundation

extension ManagedObjectID: Codable {
  /// Creates the ID for a URI; nil unless its store is, or was, open in this process.
  package init?(uri: URL) {
    var number: UInt32 = 0
    while let space = ObjectIDSpace.space(number) {
      if let id = space.objectID(forURI: uri) {
        self = id
        return
      }
      number += 1
    }
    return nil
  }

  /// Decodes the URI of an object whose store is, or was, open in this process.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let url = URL(string: try container.decode(String.self)), let id = ManagedObjectID(uri: url) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no URI of an object whose store was opened.")
    }
    self = id
  }

  /// Encodes the URI.
  ///
  /// - Throws: `EncodingError` for a temporary ID, which is meaningless outside this process.
  public func encode(to encoder: any Encoder) throws {
    guard !isTemporaryID else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "An object that is not saved has no lasting ID."))
    }
    var container = encoder.singleValueContainer()
    try container.encode(uriString)
  }
}
