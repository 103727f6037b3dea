// EntityMacros: entities written as Swift classes. Only with the package trait Macros.

#if Macros
  /// Declares an entity by a class: its stored properties marked with `@Attribute` and `@Relationship` are the entity's.
  ///
  /// ```swift
  /// @Entity final class Book: ManagedObject {
  ///   @Attribute var title: String
  ///   @Attribute(.unique, .length(1...20)) var isbn: String?
  ///   @Attribute(.range(0...)) var pages: Int32 = 0
  ///   @Relationship(inverse: \Author.books) var author: Author?
  ///   @Relationship(deleteRule: .cascade) var chapters: [Chapter]
  /// }
  ///
  /// let model = ManagedObjectModel(Book.self, Author.self)
  /// ```
  ///
  /// A property whose type is no optional is required; its initial value is the attribute's default value, or what it reads without one. A property of a
  /// type with raw values holds those; one of another `Codable` type is transformable. The model, a container of it and typed queries are those of
  /// generated classes. The class inherits from `ManagedObject` or from another `@Entity` class, which is the superentity.
  ///
  /// - Parameters:
  ///   - name: The entity's name, a literal; nil for the class's.
  ///   - options: What else the entity has.
  @attached(member, names: arbitrary)
  @attached(memberAttribute)
  @attached(extension, conformances: EntityClass, TypedManagedObject, FetchKeyPathNaming, Identifiable)
  public macro Entity(name: String? = nil, _ options: EntityOption...) = #externalMacro(module: "CipherDataMacros", type: "EntityMacro")

  /// Makes a property an attribute of the class's entity. See ``Entity(name:_:)``.
  ///
  /// - Parameter options: What the attribute has beyond its name, type and default value.
  @attached(peer)
  public macro Attribute(_ options: AttributeOption...) = #externalMacro(module: "CipherDataMacros", type: "MarkerMacro")

  /// Makes a property a relationship of the class's entity: `Author?` to one object, `Set<Book>` to many, `[Book]` to many with an order.
  ///
  /// - Parameters:
  ///   - deleteRule: What deleting the object does to those it refers to.
  ///   - inverse: The relationship back. One of the two sides names it.
  ///   - options: What else the relationship has.
  @attached(peer)
  public macro Relationship(deleteRule: DeleteRule = .nullify, inverse: AnyKeyPath? = nil, _ options: RelationshipOption...) =
    #externalMacro(module: "CipherDataMacros", type: "MarkerMacro")

  /// Gives a property its accessors; what ``Entity(name:_:)`` adds to properties.
  @attached(accessor)
  public macro _EntityProperty(_ layout: EntityLayout?, _ index: Int) =
    #externalMacro(module: "CipherDataMacros", type: "EntityPropertyMacro")
#endif
