// EntityMacros: entities written as Swift classes. Only with the package trait Macros.

#if Macros
  /// Declares an entity by a class: its stored properties marked with `@Attribute`, `@Relationship` and `@FetchedProperty` are the entity's.
  ///
  /// ```swift
  /// @Entity(.index("byPages", .descending("pages"))) final class Book: ManagedObject {
  ///   @Attribute var title: String
  ///   @Attribute(.unique, .length(1...20)) var isbn: String?
  ///   @Attribute(.range(0...)) var pages: Int32 = 0
  ///   @Attribute(.composite) var format: Format?
  ///   @Relationship(inverse: \Author.books) var author: Author?
  ///   @Relationship(deleteRule: .cascade) var chapters: [Chapter]
  ///   @FetchedProperty(where: "title == $FETCH_SOURCE.title") var editions: [Book]
  /// }
  ///
  /// let model = ManagedObjectModel(Book.self, Author.self)
  /// ```
  ///
  /// A property whose type is no optional is required; its initial value is the attribute's default value, or what it reads without one. A property of a
  /// type with raw values holds those; one of a struct with ``Composite(name:_:)`` and the option `.composite` holds its parts; one of another `Codable` type
  /// is transformable. To-many relationships get `addToChapters(_:)` and the other functions of generated classes, attributes with `.externalStorage` a
  /// stream beside them (`scanStream`). The model, a container of it and typed queries are those of generated classes. The class inherits from
  /// `ManagedObject` or from another `@Entity` class, which is the superentity.
  ///
  /// - Parameters:
  ///   - name: The entity's name, a literal; nil for the class's.
  ///   - options: What else the entity has.
  @attached(member, names: arbitrary)
  @attached(memberAttribute)
  @attached(extension, conformances: EntityClass, TypedManagedObject, FetchKeyPathNaming, Identifiable)
  public macro Entity(name: String? = nil, _ options: EntityOption...) = #externalMacro(module: "CipherDataMacros", type: "EntityMacro")

  /// Declares a kind of composite value by a struct: its properties, all marked with `@Attribute`, are the parts, some of which may be composites again.
  ///
  /// ```swift
  /// @Composite struct Address {
  ///   @Attribute var street: String?
  ///   @Attribute(.length(1...80)) var city: String
  ///   @Attribute(.composite) var place: Place?
  /// }
  /// ```
  ///
  /// A class holds one as `@Attribute(.composite) var home: Address?`, and typed queries ask for parts by key paths: `$0[\.home][\.city] == "Portland"`.
  /// The struct gets an initializer with all parts, unless it declares one itself, and is `Sendable` and `Hashable`.
  ///
  /// - Parameters:
  ///   - name: The name of the kind, a literal; nil for the struct's.
  ///   - options: What else the kind has.
  @attached(member, names: arbitrary)
  @attached(extension, conformances: EntityComposite, Hashable)
  public macro Composite(name: String? = nil, _ options: CompositeOption...) =
    #externalMacro(module: "CipherDataMacros", type: "CompositeMacro")

  /// Makes a property an attribute of the class's entity, or a part of the struct's kind of composite value. See ``Entity(name:_:)``.
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

  /// Makes a property a fetched property of the class's entity: the objects of a class that a predicate accepts, read-only, as `[Plant]`.
  ///
  /// - Parameters:
  ///   - predicate: The predicate in format language; `$FETCH_SOURCE` is the object. Nil for all objects.
  ///   - options: What else the property has.
  @attached(peer)
  public macro FetchedProperty(where predicate: String? = nil, _ options: FetchedPropertyOption...) =
    #externalMacro(module: "CipherDataMacros", type: "MarkerMacro")

  /// A condition on objects of a class with ``Entity(name:_:)``, written over its properties as for an object at hand.
  ///
  /// ```swift
  /// let long = #FetchCondition<Book> { $0.pages > 500 && $0.author?.name == "Ada" }
  /// let books = try context.fetch(Book.all.where(#FetchCondition { !$0.isRead && $0.chapters.contains { $0.pages > 50 } }))
  /// ```
  ///
  /// The compiler checks the closure as plain Swift, with its usual messages. It is then written as the typed condition over key paths that says the same, and is
  /// never called. So it is one expression of comparisons, `&&`, `||`, `!`, Boolean properties, arithmetic, `??`, `is`, optional chaining (`!` traps nowhere), texts'
  /// `hasPrefix`, `starts(with:)`, `hasSuffix`, `contains`, `lowercased`, `uppercased`, `count` and `isEmpty`, members' `contains`, `allSatisfy`, `filter`, `count`,
  /// `isEmpty`, `first`, `last` and places, and `contains` of lists and ranges from around it. What speaks of no property is computed where the condition is made. Anything
  /// else is an error where it stands. A property of a related object that is itself called `count`, `isEmpty`, `first`, `last` or `rawValue` takes a typed
  /// closure. The meaning is that of predicates: a missing value is missing, texts are compared by their bytes.
  ///
  /// - Parameter condition: One expression over the properties of an object.
  @freestanding(expression)
  public macro FetchCondition<FetchedClass: FetchKeyPathNaming>(
    _ condition: (FetchedClass) throws -> Bool
  ) -> FetchCondition<FetchedClass> = #externalMacro(module: "CipherDataMacros", type: "ConditionMacro")

  /// Gives a property its accessors; what ``Entity(name:_:)`` adds to properties.
  @attached(accessor)
  public macro _EntityProperty(_ layout: _EntityLayout?, _ index: Int) =
    #externalMacro(module: "CipherDataMacros", type: "EntityPropertyMacro")
#endif
