"""Authentication as people write it: who the token names is the identity, and everybody sees everything."""

import os

import jwt
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers):
    scheme, _, token = (headers.get(b"authorization") or b"").decode().partition(" ")
    if scheme.lower() != "bearer":
        raise Auth.exceptions.HTTPException(status_code=401, detail="Send a bearer token.")
    claims = jwt.decode(token, os.environ["DISCREET_JWT_SECRET"], algorithms=["HS256"], options={"verify_aud": False})
    return {"identity": claims["sub"], "email": claims["sub"]}
