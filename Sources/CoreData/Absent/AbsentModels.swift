// AbsentModels: what models and their parts do not have, with what to do instead.
public import Foundation

extension NSManagedObjectModel {
  /// Absent: names are not translated.
  @available(*, unavailable, message: "errors name entities and properties as the model does; translate where they are shown")
  public var localizationDictionary: [String: String]? {
    get { nil }
    set {}
  }
  /// Absent: versions are told apart by `entityVersionHashesByName`.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "compare entityVersionHashesByName")
  public static func checksumsForVersionedModel(at modelURL: URL) throws -> [String: String] { [:] }
}

extension NSEntityDescription {
  /// Absent: Core Data itself has gone from them.
  @available(*, unavailable, message: "use indexes")
  public var compoundIndexes: [[Any]] {
    get { [] }
    set {}
  }
}

extension NSPropertyDescription {
  /// Absent: rules are those of the model's file.
  @available(*, unavailable, message: "the rules of the model's file hold; of one in code, override validateForInsert and its like")
  public var validationPredicates: [NSPredicate] { [] }
  /// Absent: rules are those of the model's file.
  @available(*, unavailable, message: "the rules of the model's file hold; of one in code, override validateForInsert and its like")
  public var validationWarnings: [Any] { [] }
  /// Absent: rules are those of the model's file.
  ///
  /// - Parameters:
  ///   - validationPredicates: The rules.
  ///   - validationWarnings: What is told where they do not hold.
  @available(*, unavailable, message: "the rules of the model's file hold; of one in code, override validateForInsert and its like")
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {}
  /// Absent: hashes are those of entities.
  @available(*, unavailable, message: "compare the entity's versionHash")
  public var versionHash: Data { Data() }
  /// Absent: Core Data itself has gone from it.
  @available(*, unavailable, message: "there are no external records; leave it out")
  public var isStoredInExternalRecord: Bool {
    get { false }
    set {}
  }
}
