// Unavailable members of models and their parts, with their replacements.
public import Foundation

extension NSManagedObjectModel {
  /// Unavailable: names are not localized.
  @available(*, unavailable, message: "errors name entities and properties as the model does; translate where they are shown")
  public var localizationDictionary: [String: String]? {
    get { nil }
    set {}
  }
  /// Unavailable: `entityVersionHashesByName` identifies a version.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "compare entityVersionHashesByName")
  public static func checksumsForVersionedModel(at modelURL: URL) throws -> [String: String] { [:] }
}

extension NSEntityDescription {
  /// Unavailable: deprecated in Core Data.
  @available(*, unavailable, message: "use indexes")
  public var compoundIndexes: [[Any]] {
    get { [] }
    set {}
  }
}

extension NSPropertyDescription {
  /// Unavailable: validation rules are read from the model file.
  @available(*, unavailable, message: "the rules of the model's file hold; of one in code, override validateForInsert and its like")
  public var validationPredicates: [NSPredicate] { [] }
  /// Unavailable: validation rules are read from the model file.
  @available(*, unavailable, message: "the rules of the model's file hold; of one in code, override validateForInsert and its like")
  public var validationWarnings: [Any] { [] }
  /// Unavailable: validation rules are read from the model file.
  ///
  /// - Parameters:
  ///   - validationPredicates: The rules.
  ///   - validationWarnings: The messages for values that violate them.
  @available(*, unavailable, message: "the rules of the model's file hold; of one in code, override validateForInsert and its like")
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {}
  /// Unavailable: only entities have version hashes.
  @available(*, unavailable, message: "compare the entity's versionHash")
  public var versionHash: Data { Data() }
  /// Unavailable: deprecated in Core Data.
  @available(*, unavailable, message: "there are no external records; leave it out")
  public var isStoredInExternalRecord: Bool {
    get { false }
    set {}
  }
}
