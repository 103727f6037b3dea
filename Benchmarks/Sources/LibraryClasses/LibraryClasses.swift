// The bookshop's classes, generated from the model beside this file: a module of their own, as an application may have one.
